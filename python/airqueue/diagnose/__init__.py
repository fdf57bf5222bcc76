"""Why does it lag, and where: round trips on each leg of a path while the path is loaded."""
