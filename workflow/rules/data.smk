# Raw data: the one stage that may use the network.


localrules:
    fetch_data,


def dataset_sources(wildcards):
    """A data set's registry entry without its embeddings, which do not change the raw data."""
    entry = REQUEST.datasets[wildcards.dataset]
    return {key: value for key, value in sorted(entry.items()) if key != "embeddings"}


rule fetch_data:
    output:
        "data/raw/{dataset}.npz",
    log:
        "logs/fetch_data/{dataset}.log",
    params:
        entry=dataset_sources,
    script:
        "../scripts/fetch_data.py"
