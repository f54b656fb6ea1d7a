"""«Which postings need not be read?»: bounds, windows, and the choice by cost."""
