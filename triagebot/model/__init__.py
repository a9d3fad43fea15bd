"""The model edge: one OpenAI-compatible call, with the only retry layer of the project around it."""
