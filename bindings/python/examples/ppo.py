"""Proximal policy optimisation (Schulman et al., 2017) in NumPy, on `paceline.gym`.

`python ppo.py` trains for about two minutes and prints the mean reward per step before, during and
after it, on networks other than those of the training. The policy is a Gaussian whose mean is a network
with one hidden layer; a second network gives the value of a state.
"""

from __future__ import annotations

import argparse

import numpy as np

from paceline.gym import CongestionVectorEnv

DISCOUNT, TRACE = 0.97, 0.95  # for rewards, and for advantages (GAE's lambda)
CLIP, RATE, EPOCHS, BATCH = 0.2, 1e-3, 6, 1024


class Net:
    """A network with one hidden layer of tanh, trained by Adam."""

    def __init__(self, random: np.random.Generator, inputs: int, hidden: int, scale: float) -> None:
        self.params = [
            random.normal(0, inputs**-0.5, (inputs, hidden)),
            np.zeros(hidden),
            random.normal(0, scale * hidden**-0.5, (hidden, 1)),
            np.zeros(1),
            np.full(1, -0.7),  # log of the policy's standard deviation; the value network ignores it
        ]
        self.means = [np.zeros_like(param) for param in self.params]
        self.squares = [np.zeros_like(param) for param in self.params]
        self.steps = 0

    def forward(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        hidden = np.tanh(x @ self.params[0] + self.params[1])
        return (hidden @ self.params[2] + self.params[3])[:, 0], hidden

    def update(self, x: np.ndarray, hidden: np.ndarray, slope: np.ndarray, spread: float) -> None:
        """Makes a gradient step; `slope` and `spread` are the loss's slopes by output and deviation."""
        back = np.outer(slope, self.params[2][:, 0]) * (1 - hidden**2)
        slopes = [x.T @ back, back.sum(0), (hidden.T @ slope)[:, None], slope.sum(keepdims=True),
                  np.full(1, spread)]  # fmt: skip
        self.steps += 1
        for param, mean, square, slope in zip(self.params, self.means, self.squares, slopes):
            mean += 0.1 * (slope - mean)
            square += 0.001 * (slope**2 - square)
            size = RATE / (1 - 0.9**self.steps)
            param -= size * mean / (np.sqrt(square / (1 - 0.999**self.steps)) + 1e-8)


def features(observations: np.ndarray) -> np.ndarray:
    """Returns observations in double precision, with large values compressed."""
    return np.arcsinh(observations.astype(np.float64))


def evaluate(policy: Net, episodes: int, seed: int, **networks) -> float:
    """Returns the mean reward per step over whole episodes, without exploration."""
    env = CongestionVectorEnv(episodes, **networks)
    observations, _ = env.reset(seed=seed)
    total, steps, over = 0.0, 0, False
    while not over:
        actions, _ = policy.forward(features(observations))
        observations, rewards, _, truncated, _ = env.step(actions[:, None])
        total, steps, over = total + rewards.mean(), steps + 1, bool(truncated[0])
    return total / steps


def train(updates: int, *, envs: int = 32, length: int = 128, seed: int = 1, **networks):
    """Trains a policy. Returns it, and the mean reward per step before and after."""
    random = np.random.default_rng(seed)
    env = CongestionVectorEnv(envs, **networks)
    width = env.single_observation_space.shape[0]
    policy, value = Net(random, width, 32, 0.01), Net(random, width, 32, 1.0)
    history = [evaluate(policy, 64, 10**6, **networks)]
    observations, _ = env.reset(seed=seed)
    fresh = np.zeros(envs, bool)  # whether this step begins an episode and ignores its action
    for update in range(updates):
        seen, acted, told, rewarded, ended, valid, after = [], [], [], [], [], [], []
        deviation = np.exp(policy.params[4][0])
        for _ in range(length):
            x = features(observations)
            mean, _ = policy.forward(x)
            noise = random.standard_normal(envs)
            actions = mean + deviation * noise
            observations, rewards, _, truncated, _ = env.step(actions[:, None])
            seen.append(x), acted.append(actions), rewarded.append(rewards), ended.append(truncated)
            told.append(-0.5 * noise**2 - np.log(deviation)), valid.append(~fresh)
            after.append(features(observations))
            fresh = truncated
        # Advantages, from the last step backwards; a truncated episode ends with its last state's value.
        values = np.array([value.forward(x)[0] for x in seen])
        nexts = np.array([value.forward(x)[0] for x in after])
        advantages = np.zeros((length + 1, envs))
        for t in reversed(range(length)):
            surprise = rewarded[t] + DISCOUNT * nexts[t] - values[t]
            follows = ~ended[t]
            advantages[t] = surprise + DISCOUNT * TRACE * follows * advantages[t + 1]
        keep = np.array(valid).ravel()
        x = np.array(seen).reshape(-1, width)[keep]
        a, old = np.array(acted).ravel()[keep], np.array(told).ravel()[keep]
        advantage = advantages[:-1].ravel()[keep]
        target = advantage + values.ravel()[keep]
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        for _ in range(EPOCHS):
            order = random.permutation(len(x))
            for some in np.array_split(order, max(1, len(x) // BATCH)):
                mean, hidden = policy.forward(x[some])
                spread = np.exp(policy.params[4][0])
                off = (a[some] - mean) / spread
                ratio = np.exp(-0.5 * off**2 - np.log(spread) - old[some])
                gain = advantage[some]
                active = np.where(gain > 0, ratio < 1 + CLIP, ratio > 1 - CLIP)
                push = -gain * ratio * active / len(some)
                policy.update(x[some], hidden, push * off / spread, (push * (off**2 - 1)).sum())
                guess, hidden = value.forward(x[some])
                value.update(x[some], hidden, (guess - target[some]) / len(some), 0.0)
        if (update + 1) % 20 == 0 and update + 1 < updates:
            history.append(evaluate(policy, 64, 10**6, **networks))
    history.append(evaluate(policy, 64, 10**6, **networks))
    return policy, history


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    _, history = train(arguments.updates, seed=arguments.seed)
    print("mean reward of a step:", ", ".join(f"{reward:.3f}" for reward in history))
