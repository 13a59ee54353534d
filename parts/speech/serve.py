"""Runs a speech service: `python serve.py MODULE ARGUMENTS…`, as `python -m MODULE ARGUMENTS…` would.

It ends when its standard input does, so that it does not outlive the test that started it.
"""

import os
import runpy
import sys
import threading


def end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


threading.Thread(target=end_with_input, daemon=True).start()
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
