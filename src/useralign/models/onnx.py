"""Running ONNX models on the processor."""

from __future__ import annotations

import os
from typing import Any

from useralign.extras import import_extra

_MOST_THREADS = 4


def onnx_session(model: bytes, extra: str) -> Any:
    """Start an `onnxruntime.InferenceSession` on as many threads as there are cores, at most 4.

    Parameters
    ----------
    model : bytes
        A serialised ONNX model.
    extra : str
        The extra that brings onnxruntime, for the message when it is missing.
    """
    runtime = import_extra("onnxruntime", "this embedder", extra)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = min(_MOST_THREADS, os.cpu_count() or 1)
    options.inter_op_num_threads = 1
    # Threads that spin while they wait starve each other on cores that are shared.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # 3 is errors only: its warnings are about the graph, which nobody here can change.
    options.log_severity_level = 3
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
