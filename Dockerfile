# The environment that requirements.lock defines, and fedmix in it.
#
#   docker build -t fedmix/fedmix:0.1.0 .
#   docker run --rm -v "$PWD:/work" -w /work fedmix/fedmix:0.1.0 snakemake --cores 2
#
# The Snakefile names the same image: `snakemake --sdm apptainer` runs every job in it.
FROM python:3.11-slim-bookworm

# make: the README's two commands. git: the commit that the page names.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git make \
    && rm -rf /var/lib/apt/lists/*

# The lock alone first: a change of fedmix does not install everything again.
COPY requirements.lock /opt/fedmix/
RUN pip install --no-cache-dir --require-hashes -r /opt/fedmix/requirements.lock

COPY pyproject.toml README.md LICENSE /opt/fedmix/
COPY src /opt/fedmix/src
RUN pip install --no-cache-dir --no-deps --no-build-isolation /opt/fedmix

# Apptainer's images cannot be written to: compiled code and font lists go where they can.
ENV NUMBA_CACHE_DIR=/tmp/numba MPLCONFIGDIR=/tmp/matplotlib
