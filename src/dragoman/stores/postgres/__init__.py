"""The store on PostgreSQL, which several replicas share."""
