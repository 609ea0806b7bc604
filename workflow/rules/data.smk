# Raw data: the one stage that may use the network.


localrules:
    fetch_data,


rule fetch_data:
    output:
        "data/raw/{dataset}.npz",
    params:
        entry=lambda wildcards: REQUEST.datasets[wildcards.dataset],
        mirror=config["mirror"],
        timeout=config["download_timeout"],
    retries: 0
    log:
        "logs/fetch_data/{dataset}.log",
    script:
        "../scripts/fetch_data.py"
