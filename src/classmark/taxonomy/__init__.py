"""How are the categories related?"""

from classmark.taxonomy.tree import (
    Category,
    Dummy,
    Taxonomy,
    categories_of,
    taxonomy_of,
)

__all__ = ["Category", "Dummy", "Taxonomy", "categories_of", "taxonomy_of"]
