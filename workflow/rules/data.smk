# Raw data, and the features that the methods see. Only raw data may use the network.


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


rule embed_features:
    input:
        # Nothing if the evidence keeps the embedding.
        lambda wildcards: [] if kept_embedding(wildcards) else f"data/raw/{wildcards.dataset}.npz",
    output:
        "data/embedded/{dataset}/{embedding}.npz",
    log:
        "logs/embed_features/{dataset}/{embedding}.log",
    conda:
        "../../environment.yml"
    # The maximum: Snakemake lowers it to --cores, and on a cluster to the profile's max-threads.
    threads: lambda wildcards: 16 if embedding_parameters(wildcards)["kind"] == "tsne" else 1
    resources:
        mem_mb=more_memory(4000),
    params:
        spec=embedding_parameters,
        entry=lambda wildcards: None if kept_embedding(wildcards) else dataset_sources(wildcards),
        source=lambda wildcards: (  # None for a kept one, which no code makes
            None if kept_embedding(wildcards) else embedding_hash()
        ),
        kept=kept_embedding,
        script=text_hash("embed_features"),
    script:
        "../scripts/embed_features.py"


rule draw_embedding:
    input:
        "data/embedded/{dataset}/{embedding}.npz",
    output:
        "results/embeddings/{dataset}/{embedding}.pdf",
        report(
            "results/embeddings/{dataset}/{embedding}.svg",
            caption="../report/embedding.rst",
            category="Embeddings",
            labels={"item": "{dataset}, {embedding}", "kind": "figure"},
        ),
        "results/embeddings/{dataset}/{embedding}.png",
    log:
        "logs/draw_embedding/{dataset}/{embedding}.log",
    conda:
        "../../environment.yml"
    params:
        code=code_hash("draw_embedding"),
    script:
        "../scripts/draw_embedding.py"
