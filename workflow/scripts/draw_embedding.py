"""Draw the first two principal axes of an embedding, coloured by class."""

from fedmix.pipeline.jobs import job

with job(snakemake.log[0], snakemake.threads):
    from fedmix.data.dataset import load_dataset
    from fedmix.plot.points import embedding_figure
    from fedmix.plot.style import house_style
    from fedmix.views.figures.build import save_figure

    data = load_dataset(snakemake.input[0])
    name = f"{snakemake.wildcards.dataset}, {snakemake.wildcards.embedding}"
    with house_style():
        figure = embedding_figure(data.features, data.labels, title=name)
    save_figure(figure, snakemake.output)
