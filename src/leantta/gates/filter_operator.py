"""How ONNX computes the shift filter.

z = f @ into;   S = (z * z) @ weight;   a = max(0, 1 - shrink / S);   c = a * z @ back
"""

from math import exp

from leantta.gates.gate import Operator
from leantta.memory import AGREEMENT_OVER, DOMAIN, DOUBT, FULL_AGREEMENT, LEAST_AGREEMENT, NOW

FEATURES = """
    unit = Constant <value_float = 1.0> ()
    least_var = Constant <value_float = 1e-30> ()
    low_log = Constant <value_float = -4.0> ()
    high_log = Constant <value_float = 4.0> ()
    grown = Add (unit, excess)
    safe_grown = Max (grown, least_var)
    log_grown = Log (safe_grown)
    log_var = Clip (log_grown, low_log, high_log)
"""
PART = """
    squares = Mul (seen, seen)
    total = MatMul (squares, weight)
    least_total = Constant <value_float = 1e-30> ()
    safe_total = Max (total, least_total)
    shrink_value = Constant <value_float: float = @shrink> ()
    lost = Div (shrink_value, safe_total)
    rest = Sub (unit, lost)
    part = Relu (rest)
"""
ANSWER = f"""
    seen = MatMul (features, into)
    {PART}
    shown = Mul (part, seen)
    answer = MatMul (shown, back)
"""
LIMITS = """
    low_answer = Constant <value_float = -3.0> ()
    high_answer = Constant <value_float = 3.0> ()
"""
STREAM_ANSWER = f"""
    directions = MatMul (features, into)
    seen = Flatten <axis = 1> (directions)
    columns = Constant <value_ints = [1]> ()
    first = Constant <value_ints = [0]> ()
    at_count = Constant <value_ints = [-2]> ()
    at_agreement = Constant <value_ints = [-1]> ()
    end = Constant <value_ints = [1000000]> ()
    rank = Shape <start = 0, end = 1> (weight)
    means_before = Slice (before, first, at_count, columns)
    mean_before = Slice (means_before, first, rank, columns)
    count_before = Slice (before, at_count, at_agreement, columns)
    agreement_before = Slice (before, at_agreement, end, columns)
    zero = Constant <value_float = 0.0> ()
    {PART}
    squares_before = Mul (mean_before, mean_before)
    size = MatMul (squares_before, weight)
    safe_size = Max (size, least_total)
    products = Mul (seen, mean_before)
    common = MatMul (products, weight)
    ratio_of_both = Div (common, safe_size)
    least_agreement = Constant <value_float = -1.0> ()
    near_ratio = Clip (ratio_of_both, least_agreement, unit)
    has_memory = Cast <to = 9> (count_before)
    agrees = Where (has_memory, near_ratio, zero)
    change = Sub (agrees, agreement_before)
    over = Constant <value_float = {AGREEMENT_OVER}> ()
    step = Div (change, over)
    new_agreement = Add (agreement_before, step)
    doubt = Constant <value_float = {DOUBT}> ()
    doubted = Min (new_agreement, doubt)
    is_against = Less (agrees, zero)
    agreement = Where (is_against, doubted, new_agreement)
    kept_count = Where (is_against, zero, count_before)
    more = Add (kept_count, unit)
    length_value = Constant <value_float: float = @length> ()
    count = Min (more, length_value)
    least_grown = Constant <value_float = {exp(-4.0)}> ()
    most_grown = Constant <value_float = {exp(4.0)}> ()
    near_grown = Clip (grown, least_grown, most_grown)
    mean_square_now = Add (near_grown, squared_mean)
    first_moment = Flatten <axis = 1> (mean)
    second_moment = Flatten <axis = 1> (mean_square_now)
    means_now = Concat <axis = 1> (seen, first_moment, second_moment)
    way = Sub (means_now, means_before)
    part_of_way = Div (way, count)
    means_after = Add (means_before, part_of_way)
    after = Concat <axis = 1> (means_after, count, agreement)
    mean_after = Slice (means_after, first, rank, columns)
    squares_after = Mul (mean_after, mean_after)
    size_after = MatMul (squares_after, weight)
    total_of_mean = Mul (count, size_after)
    safe_total_of_mean = Max (total_of_mean, least_total)
    lost_of_mean = Div (shrink_value, safe_total_of_mean)
    rest_of_mean = Sub (unit, lost_of_mean)
    part_of_mean = Relu (rest_of_mean)
    lowest = Constant <value_float = {LEAST_AGREEMENT}> ()
    room = Constant <value_float = {FULL_AGREEMENT - LEAST_AGREEMENT}> ()
    above = Sub (agreement, lowest)
    share = Div (above, room)
    trust = Clip (share, zero, unit)
    doubt_left = Sub (unit, trust)
    alone = Mul (doubt_left, part)
    trusted = Mul (trust, part_of_mean)
    now = Constant <value_float = {NOW}> ()
    of_now = Mul (now, trusted)
    factor = Add (alone, of_now)
    shown = Mul (factor, seen)
    of_filter = MatMul (shown, back)
    moments = Slice (means_after, rank, end, columns)
    domain_mean, domain_square = Split <axis = 1, num_outputs = 2> (moments)
    squared_domain_mean = Mul (domain_mean, domain_mean)
    domain_var = Sub (domain_square, squared_domain_mean)
    safe_domain_var = Max (domain_var, least_var)
    log_domain_var = Log (safe_domain_var)
    near_domain_var = Clip (log_domain_var, low_log, high_log)
    domain = Concat <axis = 1> (domain_mean, near_domain_var)
    domain_weight = Constant <value_float = {DOMAIN}> ()
    of_domain = Mul (domain_weight, trusted)
    moved_by_domain = Mul (of_domain, domain)
    flat_answer = Add (of_filter, moved_by_domain)
    as_seen = Shape (features)
    answer = Reshape (flat_answer, as_seen)
"""


def filter_operator(name: str, answer: str, *, streams: bool) -> Operator:
    """Return the operator of the filter with its answer, or with that of a stream."""
    return Operator(
        name=name,
        constants=("into", "back", "weight"),
        streams=streams,
        in_float=f"""{FEATURES}
    means = Squeeze (mean, positions)
    logs = Squeeze (log_var, positions)
    features = Concat <axis = 1> (means, logs)
    {answer}{LIMITS}
    mean_part, log_part = Split <axis = 1, num_outputs = 2> (answer)
    moved_mean = Unsqueeze (mean_part, positions)
    near = Clip (log_part, low_answer, high_answer)
    growth = Exp (near)
    new_var = Unsqueeze (growth, positions)
""",
        in_int8=f"""{FEATURES}
    features = Concat <axis = -1> (mean, log_var)
    {answer}{LIMITS}
    moved_mean, log_part = Split <axis = -1, num_outputs = 2> (answer)
    near = Clip (log_part, low_answer, high_answer)
    new_var = Exp (near)
""",
        after="",
        new_var="",
        moved_mean="",
    )
