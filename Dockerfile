# The web application. Built in one stage, run in another that has no compiler and no root.
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
# What others wrote comes in the versions of the lock file, each by its hash.
COPY locks/server.txt locks/
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --require-hashes --requirement locks/server.txt
COPY pyproject.toml setup.py README.md LICENSE ./
COPY src ./src
RUN /venv/bin/pip install --no-cache-dir --no-deps .

FROM python:3.12-slim
RUN apt-get update && apt-get install --yes --no-install-recommends libgomp1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 10001 useralign \
    && install --directory --owner useralign /data /cache
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    OMP_NUM_THREADS=1 \
    OPENBLAS_NUM_THREADS=1 \
    USERALIGN_DATA=/data \
    USERALIGN_CACHE=/cache
USER useralign
VOLUME ["/data", "/cache"]
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
# Beyond loopback the server wants a secret: USERALIGN_SECRET, or --secret-file.
CMD ["useralign", "serve", "--host", "0.0.0.0", "--port", "8000", "--no-open"]
