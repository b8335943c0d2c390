"""The compiled kernel: optional, so that a machine without a C compiler still installs."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "useralign.geometry._kernel",
            sources=["src/useralign/geometry/_kernel.c"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            extra_compile_args=["-O3"],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
