"""How are the categories related?"""

from classmark.taxonomy.category import Category, categories_of, taxonomy_of
from classmark.taxonomy.tree import Dummy, Taxonomy

__all__ = ["Category", "Dummy", "Taxonomy", "categories_of", "taxonomy_of"]
