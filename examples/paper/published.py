"""Numbers that Nemeth and Fearnhead (2021) print, and the settings of their code."""

ALGORITHMS = (
    "SGLD",
    "SGLD-CV",
    "SG-HMC",
    "SG-HMC-CV",
    "SG-NHT",
    "SG-NHT-CV",
    "ULA",
)
# Table 2: Stan, then the algorithms in order.
TABLE_2 = {
    "minutes": {
        10: (21.64, 1.74, 1.46, 11.24, 6.53, 2.56, 1.54, 8.05),
        50: (157.24, 2.55, 2.06, 13.43, 7.76, 3.33, 1.93, 29.21),
        100: (229.76, 3.42, 2.60, 16.01, 9.63, 4.38, 2.36, 51.25),
    },
    "min ESS per minute": {
        10: (119.98, 0.43, 0.53, 0.42, 0.50, 0.32, 0.24, 0.29),
        50: (28.90, 0.25, 0.32, 0.19, 0.27, 0.11, 0.08, 0.19),
        100: (10.78, 0.22, 0.28, 0.16, 0.21, 0.10, 0.08, 0.17),
    },
    "log-loss": {
        10: (0.10, 0.11, 0.10, 0.10, 0.10, 0.10, 0.10, 0.10),
        50: (0.04, 0.06, 0.05, 0.06, 0.05, 0.05, 0.05, 0.05),
        100: (0.04, 0.06, 0.05, 0.06, 0.05, 0.05, 0.05, 0.06),
    },
    "KSD": {
        10: (6.12, 6.26, 6.24, 6.18, 6.25, 6.21, 6.23, 6.19),
        50: (9.24, 11.73, 11.05, 11.59, 11.11, 11.00, 11.33, 11.30),
        100: (11.62, 15.70, 15.53, 15.64, 15.07, 15.14, 15.07, 15.97),
    },
}
# Step sizes in the published code: of SGLD and ULA h itself, of the others the learning
# rate eta = h² / 4. Those of the logistic regression are for d = 10.
LOGISTIC_STEPS = {
    "SGLD": 4e-7,
    "SGLD-CV": 4e-7,
    "ULA": 4e-7,
    "SG-HMC": 1e-8,
    "SG-HMC-CV": 1e-8,
    "SG-NHT": 1e-8,
    "SG-NHT-CV": 1e-9,
}
NETWORK_STEPS = {"SGLD": 1e-4, "SG-HMC": 4e-6, "SG-NHT": 7e-6}
FACTOR_STEPS = {"SGLD": 4e-5, "SGLD-CV": 1e-10, "SG-HMC": 4e-7, "SG-HMC-CV": 1e-12}
MOMENTUM_DECAY = 0.01  # alpha of SG-HMC and a of SG-NHT, the defaults of that code
LOGISTIC_SGNHT_DECAY = 0.02
HOURS_OF_FACTORS = {
    "Stan, a tenth of the iterations": 84.0,
    "SGLD": 3.1,
    "SGLD-CV": 3.5,
    "SG-HMC": 16.4,
    "SG-HMC-CV": 16.8,
}
