"""«How well does this document answer?»: each classical model as a small formula."""
