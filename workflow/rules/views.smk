# Tables and figures: layouts of cells.


rule make_table:
    input:
        cells=item_cells,
    output:
        f"{SHOWN}/tables/{{item}}.csv",
        report(
            f"{SHOWN}/tables/{{item}}.md",
            caption="../report/item.rst",
            category=item_category,
            labels=item_labels,
        ),
        f"{SHOWN}/tables/{{item}}.tex",
        f"{SHOWN}/tables/{{item}}.html",
    log:
        "logs/make_table/{item}.log",
    conda:
        "../../environment.yml"
    params:
        item=item_parameters,
        code=code_hash("make_table"),
    script:
        "../scripts/make_table.py"


rule make_figure:
    input:
        unpack(lambda wildcards: behind_figures([wildcards.item])),
    output:
        report(
            f"{SHOWN}/figures/{{item}}.svg",
            caption="../report/item.rst",
            category=item_category,
            labels=item_labels,
        ),
        f"{SHOWN}/figures/{{item}}.pdf",
        f"{SHOWN}/figures/{{item}}.png",
        f"{SHOWN}/figures/{{item}}.md",
    log:
        "logs/make_figure/{item}.log",
    conda:
        "../../environment.yml"
    params:
        item=item_parameters,
        code=code_hash("make_figure"),
    script:
        "../scripts/make_figure.py"


# Pages show these. One job draws them all, because most of a figure's time is the start of its job.
rule draw_figures:
    input:
        **behind_figures(FIGURES),
    output:
        page_figures(FIGURES),
    log:
        "logs/draw_figures.log",
    conda:
        "../../environment.yml"
    params:
        figures=figures_parameters(FIGURES),
        code=code_hash("draw_figures"),
    script:
        "../scripts/draw_figures.py"
