# Tables and figures from the collected settings.


rule make_table:
    input:
        results=item_input("results"),
        timings=item_input("timings"),
    output:
        "results/tables/{item}.csv",
        report(
            "results/tables/{item}.md",
            caption="../report/item.rst",
            category=item_category,
            labels=item_labels,
        ),
        "results/tables/{item}.tex",
    log:
        "logs/make_table/{item}.log",
    conda:
        "../../environment.yml"
    params:
        item=item_parameters,
        printed=printed_file,
        printed_hash=printed_hash,
        source=builder_hash("fedmix.views.tables"),
    script:
        "../scripts/make_table.py"


rule make_figure:
    input:
        results=item_input("results"),
        timings=item_input("timings"),
    output:
        "results/figures/{item}.pdf",
        report(
            "results/figures/{item}.svg",
            caption="../report/item.rst",
            category=item_category,
            labels=item_labels,
        ),
        "results/figures/{item}.png",
    log:
        "logs/make_figure/{item}.log",
    conda:
        "../../environment.yml"
    params:
        item=item_parameters,
        source=builder_hash("fedmix.views.figures"),
    script:
        "../scripts/make_figure.py"
