"""The same formats from the server's side: decode a request, encode a reply."""
