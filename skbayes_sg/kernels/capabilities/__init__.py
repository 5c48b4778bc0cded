"""Operations that only some components implement, one file per capability.

A component has a capability if it registers its operations, see `generic.implements`.
Some operations have a default implementation for all components.
"""
