# Targets that a person asks for by name: data, embeddings, papers, single tables and figures.


localrules:
    fetch,
    embed,


rule fetch:
    input:
        [f"data/raw/{dataset}.npz" for dataset, _ in REQUEST.embeddings()],


rule embed:
    input:
        [f"data/embedded/{d}/{e}.npz" for d, e in REQUEST.embeddings()],


for paper in sorted({item.paper for item in ITEMS.values()}):

    rule:
        name:
            paper
        localrule: True
        input:
            item_files([name for name, item in ITEMS.items() if item.paper == paper]),


for item_name in ITEMS:

    rule:
        name:
            item_name
        localrule: True
        input:
            item_files([item_name]),
