"""What m-invariant classes are made by: values dealt, buckets split, cells told apart."""
