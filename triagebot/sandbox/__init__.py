"""An embedded GitHub and an embedded OpenAI-compatible model, over real HTTP, with faults on demand."""
