# Reduce the data: identity, standardize, pca, vae and files in one rule, t-SNE in one of its own.


rule embed_features:
    input:
        "data/raw/{dataset}.npz",
    output:
        "data/embedded/{dataset}/{embedding}.npz",
    log:
        "logs/embed_features/{dataset}/{embedding}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=more_memory(4000),
    params:
        spec=embedding_parameters,
        source=lambda wildcards: source_hash("fedmix.embed"),
    script:
        "../scripts/embed_features.py"


rule embed_tsne:
    input:
        "data/raw/{dataset}.npz",
    output:
        "data/embedded/{dataset}/{embedding}.npz",
    log:
        "logs/embed_tsne/{dataset}/{embedding}.log",
    wildcard_constraints:
        embedding="tsne[a-z0-9_]*",
    conda:
        "../../environment.yml"
    threads: 16  # at most: Snakemake lowers it to --cores; on a cluster: set-threads in the profile
    resources:
        mem_mb=more_memory(4000),
    params:
        spec=embedding_parameters,
        source=lambda wildcards: source_hash("fedmix.embed.tsne"),
    script:
        "../scripts/embed_features.py"


ruleorder: embed_tsne > embed_features


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
        source=source_hash("fedmix.views.figures.embedding", "fedmix.views.figures.save"),
    script:
        "../scripts/draw_embedding.py"
