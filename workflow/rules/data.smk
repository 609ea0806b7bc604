# Raw data: the one stage that may use the network.


rule fetch_data:
    output:
        update("data/raw/{dataset}.npz"),  # stays until other data have passed all checks
    log:
        "logs/fetch_data/{dataset}.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        entry=dataset_sources,
        script=text_hash("fetch_data"),
    script:
        "../scripts/fetch_data.py"
