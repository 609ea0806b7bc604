# The environment that requirements.lock defines, and fedmix in it.
#
#   docker build -t fedmix .
#   docker run --rm -v "$PWD:/work" -w /work fedmix snakemake --cores 2
#
# The base is pinned by the digest of its multi-platform index, as Docker's official images record it
# (docker-library/repo-info, 19 September 2026); apptainer.def names the same one.
FROM python:3.11.16-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b

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

# Compiled code is pickled, so whoever can write it can run code: it lies in a user's own folder.
ENTRYPOINT ["/bin/sh", "-c", "own=/tmp/fedmix-$(id -u) && mkdir -p -m 700 $own && export NUMBA_CACHE_DIR=$own/numba MPLCONFIGDIR=$own/matplotlib && exec \"$@\"", "--"]
CMD ["python3"]
