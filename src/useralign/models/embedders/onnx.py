"""Running ONNX models: starting them, and asking for a tensor inside of them."""

from __future__ import annotations

import os
from typing import Any

from useralign.models.embedders.checks import need

# The numbers of the fields in onnx.proto, with wire type 2 (a length, then that many bytes).
_GRAPH = bytes([7 << 3 | 2])
_OUTPUT = bytes([12 << 3 | 2])
_NAME = bytes([1 << 3 | 2])
_MOST_THREADS = 4


def session(model: bytes, extra: str, threads: int | None = None) -> Any:
    """Start an `onnxruntime.InferenceSession` on the CPU.

    Parameters
    ----------
    model : bytes
        A serialised ONNX model.
    extra : str
        The extra that brings onnxruntime, for the message when it is missing.
    threads : int, optional
        As many as there are cores, at most 4, when not given.
    """
    runtime = need("onnxruntime", "this embedder", extra)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads or min(_MOST_THREADS, os.cpu_count() or 1)
    options.inter_op_num_threads = 1
    # Threads that spin while they wait starve each other on cores that are shared.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # 3 is errors only: its warnings are about the graph, which nobody here can change.
    options.log_severity_level = 3
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def with_output(model: bytes, tensor: str) -> bytes:
    """Return a model that also gives out one of its inner tensors.

    A protocol buffer may hold a message field several times: readers merge them. So appending a
    `graph` that has nothing but one more `output` declares it, without parsing or rewriting 100 MB
    and without the `onnx` package.

    Parameters
    ----------
    model : bytes
        A serialised `ModelProto`.
    tensor : str
        The name of a tensor that some node of its graph makes.
    """
    value_info = _field(_NAME, tensor.encode())
    return model + _field(_GRAPH, _field(_OUTPUT, value_info))


def _field(tag: bytes, content: bytes) -> bytes:
    return tag + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)
