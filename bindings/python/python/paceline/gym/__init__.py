"""Environments for reinforcement learning, for Gymnasium (``pip install 'paceline[gym]'``).

An episode is a connection over a randomly drawn network. In each step the agent changes its
pacing rate, and the network is simulated for ``step_ms``.

**Action**: one number *a* from -1 to 1. The rate is multiplied by 2**a*. At most twice the rate times
the smoothed RTT is in flight.

**Observation**: for each of the last ``history`` steps, the oldest first, six numbers, each cut off
at -10 and 10:

0. packets sent over packets acknowledged, less 1;
1. the mean RTT over the minimum RTT of the connection, less 1;
2. the change of the mean RTT since the previous step, over the length of a step;
3. packets lost over packets lost or acknowledged;
4. log2 of the acknowledged rate over the pacing rate;
5. log10 of the pacing rate in Mbit/s.

**Reward**: ``weights[0]`` times the acknowledged rate over the link's mean rate, less ``weights[1]``
times (mean RTT over the path's RTT without a queue, less 1), less ``weights[2]`` times the share of
lost packets. The agent's observation does not include the link's rate; its reward does.

Episodes never terminate; they are truncated after ``steps`` steps. Equal seeds and actions give equal
episodes, single or in a vector.
"""

from __future__ import annotations

import gymnasium

from .environment import CongestionEnv
from .vector import CongestionVectorEnv

__all__ = ["CongestionEnv", "CongestionVectorEnv"]

if "paceline/Congestion-v0" not in gymnasium.registry:
    gymnasium.register(
        id="paceline/Congestion-v0",
        entry_point="paceline.gym:CongestionEnv",
        vector_entry_point="paceline.gym:CongestionVectorEnv",
    )
