"""From IR to text (spec/front.md 1.9): the printed program parses back to the same IR."""
