"""Sphinx settings. No network is used: a build gives the same result anywhere."""

import sys
from pathlib import Path

import skbayes_sg

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

project = "skbayes_sg"
author = copyright = "skbayes_sg developers"
version = release = skbayes_sg.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # formulas render without a network
    "myst_parser",  # the results of the benchmarks are Markdown
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"skbayes_sg {version}"
html_logo = html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_theme_options = {
    "logo": {"text": "skbayes_sg"},
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_toc_level": 2,
}
html_sidebars = {"index": []}
html_show_sourcelink = False

autosummary_generate = True
numpydoc_show_class_members = False  # the class template lists them

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"demo\.py",
    "within_subsection_order": "gallery_order.PlotsFirst",
    "reference_url": {"skbayes_sg": None},
    "backreferences_dir": None,
    "download_all_examples": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "show_signature": False,
    "default_thumb_file": str(HERE / "_static" / "logo.png"),
}


def skip_scikit_learn(app, what, name, obj, skip, options):
    """Leave out what scikit-learn adds: its texts refer to labels of its own guide."""
    return skip or str(getattr(obj, "__module__", "")).startswith("sklearn.")


def setup(app):
    app.connect("autodoc-skip-member", skip_scikit_learn)
