"""The papers that are put to the test, by the key that configuration and results use."""

PAPERS = {
    "fedgrem": "FedGrEM (Tian, Weng, Feng 2024)",
    "mixed_regression": "Two-phase mixed regression (Su, Xu, Yang 2022)",
    "fedgem": "FedGEM (Ibrahim, Gebraeel, Xie 2026)",
}
#: The papers by their methods' names, and what is none of theirs.
SHORT_NAMES = {key: name.split(" (")[0] for key, name in PAPERS.items()} | {
    "cross": "Across papers"
}
