"""Random normals, exponentials and small linear algebra."""
