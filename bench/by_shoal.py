"""``python -m bench.by_shoal IN OUT``: publish a Parquet file as a verified Parquet release."""

import sys

import shoal
from bench.data import QUASI, SENSITIVE

if __name__ == "__main__":
    shoal.publish(
        sys.argv[1],
        shoal.Schema.of(quasi=QUASI, sensitive=SENSITIVE),
        "k-anonymity k=10",
        out=sys.argv[2],
        format="parquet",
    )
