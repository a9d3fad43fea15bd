"""A llama.cpp server as a process of its own: `serving.py MODEL.gguf CONTEXT` prints its address, ends with stdin.

In a process of its own, since a test takes it away in mid-answer.
"""

from __future__ import annotations

import sys

import xllamacpp


def main(path: str, context: str) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = 2
    params.n_ctx = 2 * int(context)
    params.cpuparams.n_threads = 1
    params.n_gpu_layers = 0
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
