"""Environments: Gymnasium's checker, equal episodes, vectors."""

import multiprocessing

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from paceline.gym import CongestionEnv, CongestionVectorEnv


def episode(env, seed, steps=50):
    """Returns observations and rewards under actions drawn from a seed."""
    random = np.random.default_rng(7)
    seen = [env.reset(seed=seed)[0]]
    rewards = []
    for _ in range(steps):
        observation, reward, *_ = env.step(random.uniform(-1, 1, 1).astype(np.float32))
        seen.append(observation)
        rewards.append(reward)
    return np.array(seen), np.array(rewards)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"traces": ["lte-driving", "12Mbps"], "history": 2},
        {"loss": (0.0, 0.02), "rivals": ["cubic"], "step_ms": 50},
    ],
)
def test_gymnasiums_checker(arguments):
    check_env(CongestionEnv(**arguments), skip_render_check=True)


def test_made_by_name():
    env = gymnasium.make("paceline/Congestion-v0", steps=5)
    env.reset(seed=1)
    steps = [env.step(env.action_space.sample()) for _ in range(5)]
    assert [truncated for *_, truncated, _ in steps] == [False] * 4 + [True]


def test_ranges_may_be_numbers_lists_and_arrays():
    for rate in (12, [12, 12], np.array([12.0, 12.0])):
        _, info = CongestionEnv(rate_mbps=rate, loss=0).reset(seed=1)
        assert info["capacity_mbps"] == 12


def test_equal_seeds_give_equal_episodes():
    one, other = episode(CongestionEnv(), 3), episode(CongestionEnv(), 3)
    assert np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1])
    assert not np.array_equal(one[0], episode(CongestionEnv(), 4)[0])
    env = CongestionEnv(digest=True)
    digests = []
    for _ in range(2):
        env.reset(seed=3)
        digests.append(env.step([0.3])[4]["digest"])
        env.reset()
        digests.append(env.step([0.3])[4]["digest"])
    assert digests[:2] == digests[2:] and digests[0] != digests[1]


def test_a_vector_is_single_environments_side_by_side():
    singles = [CongestionEnv(steps=20) for _ in range(3)]
    seen = np.array([env.reset(seed=5 + i)[0] for i, env in enumerate(singles)])
    for threads in (1, 2):
        vector = gymnasium.make_vec(
            "paceline/Congestion-v0",
            num_envs=3,
            vectorization_mode="vector_entry_point",
            steps=20,
            threads=threads,
        )
        assert np.array_equal(vector.reset(seed=5)[0], seen)
        random = np.random.default_rng(1)
        [env.reset(seed=5 + i) for i, env in enumerate(singles)]
        for _ in range(20):
            actions = random.uniform(-1, 1, (3, 1)).astype(np.float32)
            observations, rewards, _, truncated, _ = vector.step(actions)
            alone = [env.step(action) for env, action in zip(singles, actions)]
            assert np.array_equal(observations, [one[0] for one in alone])
            assert np.array_equal(rewards, [one[1] for one in alone])
            assert list(truncated) == [one[3] for one in alone]
        # After its end, an episode is followed by the next one.
        observations, rewards, _, truncated, _ = vector.step(actions)
        assert not truncated.any() and not rewards.any()
        assert np.array_equal(observations, [env.reset()[0] for env in singles])


def test_environments_without_seeds_differ():
    seen = CongestionVectorEnv(2, rtt_ms=(20, 400)), CongestionVectorEnv(2, rtt_ms=(20, 400))
    for vector in seen:
        vector.reset(seed=[None, None])
    drawn = {info["base_rtt_ms"] for vector in seen for info in vector.infos()}
    assert len(drawn) == 4


def test_the_rate_follows_actions_and_rewards_follow_the_rate():
    env = CongestionEnv(rate_mbps=(10, 10), rtt_ms=(40, 40), buffer_bdp=(4, 4))
    env.reset(seed=1)
    rates = [env.step([-1.0])[4]["rate_mbps"] for _ in range(3)]
    assert rates[0] == pytest.approx(2 * rates[1]) == pytest.approx(4 * rates[2])

    def mean_reward(target):
        env.reset(seed=1)
        info, rewards = {"rate_mbps": 10.0}, []
        for _ in range(200):
            action = np.clip(np.log2(target / info["rate_mbps"]), -1, 1)
            _, reward, _, _, info = env.step([action])
            rewards.append(reward)
        return np.mean(rewards[50:])

    assert mean_reward(9.5) > max(mean_reward(3), mean_reward(30))


def test_mistakes():
    for arguments, words in [
        ({"rate_mbps": (0, 1)}, "rate_mbps"),
        ({"rtt_ms": (9, 3)}, "rtt_ms"),
        ({"loss": (0, 1)}, "loss"),
        ({"traces": "nowhere"}, "traces"),
        ({"rivals": "cubik"}, "did you mean"),
        ({"step_ms": 0}, "step_ms"),
        ({"rate_mbps": (1, 1e300)}, "rate_mbps: .* up to 1000000"),
        ({"steps": -1}, "steps: expected a whole number"),
        ({"rtt_ms": (1, 2, 3)}, "rtt_ms: expected two numbers, not 3"),
        ({"weights": (1, 2)}, "weights: expected three finite numbers"),
        ({"weights": (1, 2, np.nan)}, "weights: expected three finite numbers"),
        ({"render_mode": "human"}, "render_mode: nothing is drawn"),
    ]:
        with pytest.raises(ValueError, match=words):
            CongestionEnv(**arguments)
    with pytest.raises(gymnasium.error.ResetNeeded):
        CongestionEnv().step([0])
    with pytest.raises(gymnasium.error.ResetNeeded):
        CongestionVectorEnv(2).step([0, 0])
    env = CongestionEnv()
    env.reset(seed=1)
    with pytest.raises(TypeError, match="rate_mbps: expected numbers, not 'fast'"):
        CongestionEnv(rate_mbps="fast")
    with pytest.raises(ValueError, match="expected 1 action"):
        env.step([0, 0])
    with pytest.raises(ValueError, match="action: expected finite numbers"):
        env.step([np.nan])
    with pytest.raises(ValueError, match="seed: expected a whole number"):
        env.reset(seed=2**64)
    with pytest.raises(ValueError, match="reset_mask: expected 2 values, not 3"):
        CongestionVectorEnv(2).reset(options={"reset_mask": np.ones(3, np.bool_)})
    with pytest.raises(ValueError, match="expected 2 seeds"):
        CongestionVectorEnv(2).reset(seed=[1])


def rewards_of_five_steps(vector):
    return [vector.step(np.full((4, 1), 0.2, np.float32))[1].tolist() for _ in range(5)]


def put_rewards(vector, results):
    results.put(rewards_of_five_steps(vector))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_goes_on_with_an_environment(threads):
    # A fork copies the environment, but none of the threads that step it.
    vector = CongestionVectorEnv(4, threads=threads)
    vector.reset(seed=3)
    vector.step(np.zeros((4, 1), np.float32))
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    process = context.Process(target=put_rewards, args=(vector, results))
    process.start()
    process.join(60)
    try:
        assert process.exitcode == 0
        assert results.get() == rewards_of_five_steps(vector)
    finally:
        process.kill()
