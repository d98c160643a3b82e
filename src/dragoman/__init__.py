"""One small, fast, typed client for every large language model."""
