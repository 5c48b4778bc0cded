"""Class labels of classifiers: weights, and labels that come in batches."""

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from skbayes_sg.base._arviz import ClassLaws
from skbayes_sg.utils._validation import check_sample_weight, shown


def class_weights(class_weight, sample_weight, y):
    """Return the product of the weights of samples and of their classes, or None."""
    weights = check_sample_weight(sample_weight, len(y))
    if class_weight is not None:
        by_class = compute_sample_weight(class_weight, y)
        weights = by_class if weights is None else weights * by_class
    return weights


class ClassesMixin:
    """Classifiers whose labels may come in batches."""

    def _laws_of_targets(self, X):
        proba = self.predict_proba_samples(X)
        return ClassLaws(proba.reshape(-1, *proba.shape[2:]), self.classes_)

    def _all_classes(self, y, classes=None, known=None):
        """Return the labels of all batches, of which `y` may lack some.

        `classes` are those given by the user, `known` those of the first call.
        """
        found = np.unique(y)
        if known is None:
            known = found if classes is None else np.unique(classes)
        elif classes is not None and not np.isin(classes, known).all():
            raise ValueError(
                f"classes={np.unique(classes)} must all be among those of the first "
                f"call, {known}"
            )
        if not np.isin(found, known).all():
            raise ValueError(f"y holds labels that are not in classes={known}")
        if len(known) < 2:
            raise ValueError(
                f"y holds one class only, {shown(known[0])}; a classifier needs at "
                "least two"
            )
        return known
