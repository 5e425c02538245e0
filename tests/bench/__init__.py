"""Programs that measure speed and print tables; none of them is a test."""
