"""«Which documents are in both?»: sorted lists as sets."""
