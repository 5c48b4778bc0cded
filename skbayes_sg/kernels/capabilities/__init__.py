"""What only some components can do, one file per capability.

A component has a capability if it registers the operations; `generic.implements` tells.
Operations with a default have it for all components.
"""
