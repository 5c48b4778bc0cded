"""
Which films to recommend, and how sure is that?
===============================================

A recommender that averages over a posterior knows not only which rating to expect but
also how far off it may be. Two films with the same expected rating can differ in that
very much.

It reads MovieLens 100K, from the folder SKBAYES_SG_DATA or by download, and is not run
when the gallery is made.

.. image:: /_static/gallery/movielens_recommend.png
"""

# sphinx_gallery_thumbnail_path = "_static/gallery/movielens_recommend.png"

# %%
# Ratings
# -------
# MovieLens 100K: 100,000 ratings of 1,682 films by 943 people. Labels may be anything;
# here users are numbers and films go by their titles. Genre and decade of a film, age,
# gender and occupation of a user help where there are few ratings.

import matplotlib.pyplot as plt
import numpy as np

from skbayes_sg import SGBPMFRecommender
from skbayes_sg.datasets import fetch_movielens_100k

ratings = fetch_movielens_100k()
users, films = ratings.data.T
titles = np.array([f"{t} #{k}" for k, t in enumerate(ratings.titles, 1)], dtype=object)
X = np.stack([users, titles[films - 1]], axis=1, dtype=object)
model = SGBPMFRecommender(
    user_features=(np.arange(1, 944), ratings.user_features),
    item_features=(titles, ratings.item_features),
    n_draws=60,
    random_state=0,
).fit(X, ratings.target)

# %%
# Recommendations by title
# ------------------------
# What user 13 liked best so far, and what else might please.

user = 13
mine = users == user
liked = films[mine][np.argsort(-ratings.target[mine], kind="stable")][:5]
print("liked:", *ratings.titles[liked - 1], sep="\n    ")
items, scores, stds = model.recommend(user, n=10, return_std=True)
print("recommended:")
for item, score, std in zip(items, scores, stds, strict=True):
    print(f"    {score:.2f} +- {std:.2f}  {item.rsplit(' #')[0]}")

# %%
# How sure
# --------
# The probability of each rating, for the best film and for one nearly as good of which
# much less is known. The second panel shows all films: the fewer their ratings, the
# larger is the uncertainty, and some divide opinion however many they have.

mean, std = model.predict([(user, title) for title in titles], return_std=True)
counts = np.bincount(films - 1, minlength=len(titles))
unseen = ~np.isin(np.arange(1, len(titles) + 1), films[mine])
alike = unseen & (np.abs(mean - scores[0]) < 0.4)
unsure = titles[alike][np.argmax(std[alike])]

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
proba = model.predict_proba([(user, items[0]), (user, unsure)])
for shift, label, p in zip((-0.2, 0.2), (items[0], unsure), proba, strict=True):
    name = label.rsplit(" #")[0]
    left.bar(model.classes_ + shift, p, width=0.38, label=name)
left.set(xlabel="rating", ylabel="probability", title=f"Predictions for user {user}")
left.legend(fontsize="small")
right.scatter(counts, std, s=6, alpha=0.4)
right.set(xscale="log", xlabel="ratings of the film", ylabel="standard deviation")
right.set_title("Uncertainty of a rating by the same user")
plt.show()

# %%
# The noise of a single rating, which no amount of data removes, is most of the
# uncertainty for films that are often rated.
