"""Where are the known collections, and how are they laid out?"""

from classmark.datasets.dataset import CATALOG as CATALOG
from classmark.datasets.dataset import ClickSession as ClickSession
from classmark.datasets.dataset import CollectionDocuments as CollectionDocuments
from classmark.datasets.dataset import Dataset as Dataset
from classmark.datasets.dataset import DatasetPart as DatasetPart
from classmark.datasets.dataset import Impressions as Impressions
from classmark.datasets.dataset import Link as Link
from classmark.datasets.dataset import PublicCollection as PublicCollection
from classmark.datasets.dataset import Source as Source
from classmark.datasets.dataset import load as load
from classmark.datasets.dataset import where as where
