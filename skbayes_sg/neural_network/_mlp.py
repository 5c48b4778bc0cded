"""Bayesian neural networks."""

import numpy as np
from scipy.special import entr, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.base._callbacks import with_callbacks
from skbayes_sg.kernels.models.mlp_outputs import Categorical, GaussianNoise
from skbayes_sg.kernels.samplers import (
    BADODAB,
    BAOAB,
    SGHMC,
    SGLD,
    SGNHT,
    LeimkuhlerMatthews,
)
from skbayes_sg.neural_network._base import BaseMLP, Uncertainty
from skbayes_sg.utils._validation import (
    all_or_nothing,
    check_magnitude,
    check_sample_weight,
)


class SGMCMCClassifierMLP(ClassifierMixin, BaseMLP):
    """Neural network for classes by stochastic-gradient MCMC, with any sampler.

    Weights have Gaussian priors of unknown precision, one for the weights and one for
    the biases of each layer. Each chain starts from weights of its own, trained by
    Adam, and predictions average over the draws of all chains. The units in which the
    weights move follow from their measured information and gradient noise, so nothing
    has to be tuned.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int, default=(100,)
        Units of each hidden layer; ``()`` is a linear model.
    activation : {"relu", "tanh", "softmax"}, default="relu"
        What hidden units do with their input.
    weight_precision : float or "gamma", default="gamma"
        Precision (inverse variance) of the prior of each weight and bias. "gamma"
        learns one for the weights and one for the biases of each layer, with Gamma(1,
        1) priors.
    step_size : float or "auto", default="auto"
        Step size h: a step drifts by h/2 and adds noise of variance h, in the units of
        the preconditioner.
    gradient : str or gradient estimator, default="minibatch"
        One of `skbayes_sg.kernels.gradients.GRADIENTS`. Control variates, "cv", are
        centred at the trained weights of one chain, where then all chains start.
    batch_size : int or "auto", default="auto"
        Rows per gradient estimate; "auto" is 500, or all where there are fewer.
    preconditioner : {"auto", "diagonal", "none"}, default="auto"
        Units in which the weights move; "auto" is diagonal: each by the information
        that the data hold of weights like it and by the noise of its gradient.
    n_draws : int, default=100
        Draws kept of each chain.
    burn_in : int or "auto", default="auto"
        Iterations between training and the first draw; "auto" is 50 times the automatic
        `thin`.
    thin : int or "auto", default="auto"
        Iterations per draw; "auto" is 100, or two epochs where that is more.
    n_chains : int, default=4
        Independent chains, each from other random weights.
    schedule : {"constant", "polynomial", "cyclical"}, default="constant"
        How the step size changes with the iterations; averages weigh draws by it.
    temperature : float, default=0.2
        Temperature T of the likelihood, which is taken to the power of 1 / T; the prior
        is not. At 1 networks for classes tend to be too cautious, see the user guide.
    noise_correction : bool, default=False
        Inject less noise by what the minibatches add, estimated while running.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in the likelihood.
    sampler : str, sampler or None, default=None
        One of `skbayes_sg.kernels.samplers.SAMPLERS`; None is the class's own. A name
        takes the friction that suits networks, an instance has its own.
    dtype : {"float32", "float64"}, default="float32"
        Type of the weights and of all computations.
    storage : path, default=None
        Folder for memory-mapped draws; None holds them in memory.
    storage_dtype : {"float16", "float32", "float64"} or None, default=None
        Type in which draws are kept; None is `dtype`.
    warm_start : bool, default=False
        Go on from where the chains of the last fit ended: with the same data and
        settings as if they had not stopped, with others from their last draws. An
        interrupted fit then keeps the draws made so far.
    checkpoint : path or None, default=None
        Folder to which the chains are written every few seconds. After a crash, the
        same fit goes on from there and ends with the same draws; it needs an integer
        `random_state`.
    n_jobs : int, default=None
        Chains at a time; the draws do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the chains.
    verbose : int, default=0
        Show a progress bar if positive.

    Attributes
    ----------
    samples_ : ndarray of shape (n_chains, n_draws, dim)
        Posterior draws: layer after layer the weights (inputs, outputs) by rows and the
        biases, then the precisions of the same blocks.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    layer_sizes_ : list of int
        Features, hidden units of each layer, outputs.
    step_size_, batch_size_, burn_in_, thin_, n_iter_ : float and int
        The settings used, and the iterations of each chain.
    mode_ : ndarray of shape (n_parameters,)
        The trained weights from which the first chain started.
    gradient_noise_ratio_ : float
        Largest ratio of the variance that the gradient estimates add to a step to the
        variance that the sampler injects.
    n_samples_seen_ : int
        Rows of `fit`, or of all calls of `partial_fit`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has string column names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skbayes_sg import SGMCMCClassifierMLP
    >>> X, y = load_iris(return_X_y=True)
    >>> network = SGMCMCClassifierMLP((10,), n_draws=20, n_chains=2, random_state=0)
    >>> model = make_pipeline(StandardScaler(), network).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    _likelihood, _y_ndim = Categorical(), 1

    def __init__(
        self,
        hidden_layer_sizes=(100,),
        *,
        activation="relu",
        weight_precision="gamma",
        step_size="auto",
        gradient="minibatch",
        batch_size="auto",
        preconditioner="auto",
        n_draws=100,
        burn_in="auto",
        thin="auto",
        n_chains=4,
        schedule="constant",
        temperature=0.2,
        noise_correction=False,
        class_weight=None,
        sampler=None,
        dtype="float32",
        storage=None,
        storage_dtype=None,
        warm_start=False,
        checkpoint=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        super().__init__(
            hidden_layer_sizes,
            activation=activation,
            weight_precision=weight_precision,
            step_size=step_size,
            gradient=gradient,
            batch_size=batch_size,
            preconditioner=preconditioner,
            n_draws=n_draws,
            burn_in=burn_in,
            thin=thin,
            n_chains=n_chains,
            schedule=schedule,
            temperature=temperature,
            noise_correction=noise_correction,
            sampler=sampler,
            dtype=dtype,
            storage=storage,
            storage_dtype=storage_dtype,
            warm_start=warm_start,
            checkpoint=checkpoint,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.class_weight = class_weight

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Draw from the posterior of the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the samples' log-likelihoods.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight)

    @with_callbacks
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Go on with the chains on more data, of which these are the last part.

        The posterior is that of all rows seen so far, for which the rows of this call
        stand, each weighted up to their number. Rows given twice count twice.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All labels of all calls; needed in the first call only, and there only if
            `y` does not hold them all.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the samples' log-likelihoods.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight, partial=True, classes=classes)

    def _fit(self, X, y, sample_weight, partial=False, classes=None):
        self._check_network()
        first = not (partial and hasattr(self, "samples_"))
        with all_or_nothing(self):
            X, y = self._validate(X, y, reset=first)
            check_classification_targets(y)
            if not first and classes is None:
                classes = self.classes_
            found = np.unique(y)
            classes = found if classes is None else np.unique(classes)
            if len(classes) < 2:
                raise ValueError(
                    f"y holds one class only, {classes[0]!r}; a classifier needs at "
                    "least two"
                )
            if not np.isin(found, classes).all():
                raise ValueError(f"y holds labels that are not in {classes=}")
            if not first and not np.array_equal(classes, self.classes_):
                raise ValueError(
                    f"{classes=} differ from those of the first call, {self.classes_}"
                )
            weights = check_sample_weight(sample_weight, len(y))
            if self.class_weight is not None:
                by_class = compute_sample_weight(self.class_weight, y)
                weights = by_class if weights is None else weights * by_class
            codes = np.searchsorted(classes, y)
            self._fit_network(X, codes, weights, len(classes), not first)
            self.classes_ = classes
        return self

    def predict_proba(self, X):
        """Return class probabilities, averaged over the posterior draws.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Probabilities in the order of `classes_`.
        """
        total = sum(weight * softmax(z, axis=1) for z, _, weight in self._outputs(X))
        return total / total.sum(axis=1, keepdims=True)

    def predict_proba_samples(self, X):
        """Return the class probabilities under every posterior draw.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        proba : ndarray of shape (n_chains, n_draws, n_samples, n_classes)
            Probabilities in the order of `classes_`.
        """
        every = np.stack([softmax(z, axis=1) for z, _, _ in self._outputs(X)])
        return every.reshape(*self.samples_.shape[:2], *every.shape[1:])

    def predict(self, X):
        """Return the most probable class of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        check_is_fitted(self)
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def predict_uncertainty(self, X):
        """Return how uncertain each prediction is, and why, as entropies in nats.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        uncertainty : Uncertainty
            Arrays of shape (n_samples,): ``total`` is the entropy of the averaged
            probabilities, ``aleatoric`` the average entropy of the draws, and
            ``epistemic`` the difference, the mutual information of label and weights:
            what the draws disagree about.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skbayes_sg import SGHMCClassifierMLP
        >>> X, y = load_iris(return_X_y=True)
        >>> model = SGHMCClassifierMLP((10,), n_draws=20, n_chains=2, random_state=0)
        >>> model.fit(X, y).predict_uncertainty(X).epistemic.shape
        (150,)
        """
        mean, aleatoric = 0.0, 0.0
        for z, _, weight in self._outputs(X):
            p = softmax(z.astype(np.float64), axis=1)
            mean = mean + weight * p
            aleatoric = aleatoric + weight * entr(p).sum(axis=1)
        total = entr(mean).sum(axis=1)
        return Uncertainty(total, aleatoric, np.maximum(total - aleatoric, 0.0))


class SGMCMCRegressorMLP(RegressorMixin, BaseMLP):
    """Neural network for numbers by stochastic-gradient MCMC, with any sampler.

    The noise is Gaussian, and its precision a parameter like the weights. The targets
    are standardised before they are learnt and predictions scaled back, so that the
    priors, Gamma(1, 1) for the precision of the noise too, suit targets of any scale.

    All parameters are those of `SGMCMCClassifierMLP`, without `class_weight`; the
    default `temperature` is 1.

    Attributes
    ----------
    samples_ : ndarray of shape (n_chains, n_draws, dim)
        Posterior draws for standardised targets: layer after layer the weights (inputs,
        outputs) by rows and the biases, then the log precision of the noise of each
        output, then the precisions of the blocks of weights and biases.
    y_mean_, y_scale_ : ndarray of shape (n_outputs,)
        Mean and standard deviation of the targets of the first fit.
    layer_sizes_, step_size_, batch_size_, burn_in_, thin_, n_iter_, mode_ : object
        As of `SGMCMCClassifierMLP`.
    gradient_noise_ratio_, n_samples_seen_, n_features_in_, feature_names_in_ : object
        As of `SGMCMCClassifierMLP`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skbayes_sg import SGMCMCRegressorMLP
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SGMCMCRegressorMLP((20,), n_draws=20, n_chains=2, random_state=0)
    >>> mean, std = model.fit(X, y).predict(X[:3], return_std=True)
    >>> mean.shape, std.shape
    ((3,), (3,))
    """

    _likelihood, _y_ndim = GaussianNoise(), 2

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Draw from the posterior of the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the samples' log-likelihoods.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight)

    @with_callbacks
    def partial_fit(self, X, y, sample_weight=None):
        """Go on with the chains on more data, of which these are the last part.

        The posterior is that of all rows seen so far, for which the rows of this call
        stand, each weighted up to their number. Rows given twice count twice. The first
        call standardises the targets of all.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the samples' log-likelihoods.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight, partial=True)

    def _fit(self, X, y, sample_weight, partial=False):
        self._check_network()
        first = not (partial and hasattr(self, "samples_"))
        with all_or_nothing(self):
            X, y = self._validate(X, y, reset=first, multi_output=True, y_numeric=True)
            weights = check_sample_weight(sample_weight, len(y))
            targets = np.asarray(y, np.float64).reshape(len(y), -1)
            check_magnitude("y", targets, np.float64, "measure it in larger units")
            if first:
                self.y_mean_ = np.average(targets, axis=0, weights=weights)
                spread = np.average(
                    (targets - self.y_mean_) ** 2, axis=0, weights=weights
                )
                self.y_scale_ = np.where(spread > 0, np.sqrt(spread), 1.0)
                self._y_shape = y.shape[1:]
            elif targets.shape[1] != len(self.y_mean_):
                raise ValueError(
                    f"y has {targets.shape[1]} columns, but the first call had "
                    f"{len(self.y_mean_)}"
                )
            targets = (targets - self.y_mean_) / self.y_scale_
            self._fit_network(X, targets, weights, targets.shape[1], not first)
        return self

    def predict(self, X, return_std=False):
        """Return the mean of each sample's predictive distribution.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        return_std : bool, default=False
            Also return its standard deviation, that of the noise included.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Posterior predictive means.
        std : ndarray of the same shape
            Only with ``return_std=True``.
        """
        mean, inner, between = self._moments(X)
        return (mean, np.sqrt(inner + between)) if return_std else mean

    def predict_samples(self, X):
        """Return the mean of each sample under every posterior draw.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        means : ndarray of shape (n_chains, n_draws, n_samples[, n_outputs])
            What the networks say, without noise.
        """
        every = np.stack([self._scaled_back(z) for z, _, _ in self._outputs(X)])
        return every.reshape(*self.samples_.shape[:2], *every.shape[1:])

    def predict_uncertainty(self, X):
        """Return how uncertain each prediction is, and why, as variances.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        uncertainty : Uncertainty
            Arrays of shape (n_samples,) or (n_samples, n_outputs): ``aleatoric`` is the
            variance of the noise, ``epistemic`` the variance of the means of the draws
            and ``total`` their sum.
        """
        _, inner, between = self._moments(X)
        return Uncertainty(inner + between, inner, between)

    def log_predictive_density(self, X, y):
        """Return the log density of each target, averaged over the posterior draws.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Log of the averaged density of all outputs of a sample.
        """
        check_is_fitted(self)
        y = np.asarray(y, np.float64).reshape(-1, len(self.y_mean_))
        targets, total = (y - self.y_mean_) / self.y_scale_, -np.inf
        for z, noise, weight in self._outputs(X):
            terms = noise - np.exp(noise) * (targets - z) ** 2 - np.log(2 * np.pi)
            density = 0.5 * terms.sum(axis=1) + np.log(weight)
            total = np.logaddexp(total, density)
        return total - np.log(self.y_scale_).sum()

    def _moments(self, X):
        """Return means, variances within draws and of the means between draws."""
        mean, square, inner = 0.0, 0.0, 0.0
        for z, noise, weight in self._outputs(X):
            z = z.astype(np.float64)
            mean, square = mean + weight * z, square + weight * z**2
            with np.errstate(over="ignore"):  # a draw may know nothing of y at all
                inner = inner + weight * np.exp(-noise.astype(np.float64))
        between = np.maximum(square - mean**2, 0.0)
        inner = np.broadcast_to(inner, between.shape)
        shape = (len(mean), *self._y_shape)
        return (
            self._scaled_back(mean),
            (inner * self.y_scale_**2).reshape(shape),
            (between * self.y_scale_**2).reshape(shape),
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _scaled_back(self, z):
        return (self.y_mean_ + self.y_scale_ * z).reshape(len(z), *self._y_shape)


class SGLDClassifierMLP(SGMCMCClassifierMLP):
    """Neural network for classes by Langevin dynamics.

    All parameters, attributes and defaults are those of `SGMCMCClassifierMLP`. The
    sampler is `LeimkuhlerMatthews`, SGLD with second-order noise, or plain `SGLD`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skbayes_sg import SGLDClassifierMLP
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SGLDClassifierMLP((10,), n_draws=20, n_chains=2, random_state=0)
    >>> model.fit(X, y).predict(X).shape
    (150,)
    """

    _default_sampler = "sgld-lm"
    _sampler_kinds = (SGLD, LeimkuhlerMatthews)


class SGHMCClassifierMLP(SGMCMCClassifierMLP):
    """Neural network for classes by stochastic gradient HMC.

    All parameters, attributes and defaults are those of `SGMCMCClassifierMLP`. The
    sampler is `BAOAB`, a second-order splitting, or `SGHMC`, Euler steps as published.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skbayes_sg import SGHMCClassifierMLP
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SGHMCClassifierMLP((10,), n_draws=20, n_chains=2, random_state=0)
    >>> model.fit(X, y).predict(X).shape
    (150,)
    """

    _default_sampler = "baoab"
    _sampler_kinds = (SGHMC, BAOAB)


class SGNHTClassifierMLP(SGMCMCClassifierMLP):
    """Neural network for classes by the Nose-Hoover thermostat.

    All parameters, attributes and defaults are those of `SGMCMCClassifierMLP`. The
    sampler is `BADODAB`, a second-order splitting, or `SGNHT`, Euler steps as
    published.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skbayes_sg import SGNHTClassifierMLP
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SGNHTClassifierMLP((10,), n_draws=20, n_chains=2, random_state=0)
    >>> model.fit(X, y).predict(X).shape
    (150,)
    """

    _default_sampler = "badodab"
    _sampler_kinds = (SGNHT, BADODAB)


class SGLDRegressorMLP(SGMCMCRegressorMLP):
    """Neural network for numbers by Langevin dynamics.

    All parameters, attributes and defaults are those of `SGMCMCRegressorMLP`. The
    sampler is `LeimkuhlerMatthews`, SGLD with second-order noise, or plain `SGLD`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skbayes_sg import SGLDRegressorMLP
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SGLDRegressorMLP((10,), n_draws=20, n_chains=2, random_state=0)
    >>> model.fit(X, y).predict(X).shape
    (442,)
    """

    _default_sampler = "sgld-lm"
    _sampler_kinds = (SGLD, LeimkuhlerMatthews)


class SGHMCRegressorMLP(SGMCMCRegressorMLP):
    """Neural network for numbers by stochastic gradient HMC.

    All parameters, attributes and defaults are those of `SGMCMCRegressorMLP`. The
    sampler is `BAOAB`, a second-order splitting, or `SGHMC`, Euler steps as published.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skbayes_sg import SGHMCRegressorMLP
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SGHMCRegressorMLP((10,), n_draws=20, n_chains=2, random_state=0)
    >>> model.fit(X, y).predict(X).shape
    (442,)
    """

    _default_sampler = "baoab"
    _sampler_kinds = (SGHMC, BAOAB)


class SGNHTRegressorMLP(SGMCMCRegressorMLP):
    """Neural network for numbers by the Nose-Hoover thermostat.

    All parameters, attributes and defaults are those of `SGMCMCRegressorMLP`. The
    sampler is `BADODAB`, a second-order splitting, or `SGNHT`, Euler steps as
    published.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skbayes_sg import SGNHTRegressorMLP
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SGNHTRegressorMLP((10,), n_draws=20, n_chains=2, random_state=0)
    >>> model.fit(X, y).predict(X).shape
    (442,)
    """

    _default_sampler = "badodab"
    _sampler_kinds = (SGNHT, BADODAB)
