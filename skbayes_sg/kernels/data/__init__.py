"""Rows of the data: their storage, minibatches and prefetching from memory."""
