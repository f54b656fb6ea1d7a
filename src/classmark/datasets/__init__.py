"""Where are the known collections, and how are they laid out?"""

from classmark.datasets.dataset import CATALOG as CATALOG
from classmark.datasets.dataset import Dataset as Dataset
from classmark.datasets.dataset import Documents as Documents
from classmark.datasets.dataset import Impressions as Impressions
from classmark.datasets.dataset import Known as Known
from classmark.datasets.dataset import Link as Link
from classmark.datasets.dataset import Part as Part
from classmark.datasets.dataset import Session as Session
from classmark.datasets.dataset import Source as Source
from classmark.datasets.dataset import load as load
from classmark.datasets.dataset import where as where
