-- REINFORCE: a policy learns to balance a pole on a cart (Barto, Sutton and Anderson, 1983) by the score function.
local argparse, torch = require 'argparse', require 'torch'
local nn, F = torch.nn, torch.nn.functional
local Categorical = torch.distributions.Categorical

local args = argparse.of_config{seed = 1, episodes = 50, steps = 200, gamma = 0.99, lr = 0.01}:parse()

-- A pole on a cart that is pushed to the left or to the right, fifty times a second.
local CartPole = {}
CartPole.__index = CartPole

local GRAVITY, CART, POLE, HALF_LENGTH, FORCE, TAU = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
local MAX_ANGLE, MAX_PLACE = 12 * 2 * math.pi / 360, 2.4

function CartPole:reset()
  self.state = (torch.rand(4) * 0.1 - 0.05):tolist()
  return self.state
end

-- Integrates by Euler's method. Returns the new state and whether the pole has fallen or the cart is out of bounds.
function CartPole:step(action)
  local x, x_dot, theta, theta_dot = unpack(self.state)
  local force = action == 1 and FORCE or -FORCE
  local cos, sin = math.cos(theta), math.sin(theta)
  local total = CART + POLE
  local temp = (force + POLE * HALF_LENGTH * theta_dot * theta_dot * sin) / total
  local theta_acc = (GRAVITY * sin - cos * temp) / (HALF_LENGTH * (4 / 3 - POLE * cos * cos / total))
  local x_acc = temp - POLE * HALF_LENGTH * theta_acc * cos / total
  x, x_dot = x + TAU * x_dot, x_dot + TAU * x_acc
  theta, theta_dot = theta + TAU * theta_dot, theta_dot + TAU * theta_acc
  self.state = {x, x_dot, theta, theta_dot}
  return self.state, math.abs(x) > MAX_PLACE or math.abs(theta) > MAX_ANGLE
end

local Policy = nn.Module:extend 'Policy'

function Policy:init()
  self.affine1 = nn.Linear(4, 64)
  self.dropout = nn.Dropout(0.25)
  self.affine2 = nn.Linear(64, 2)
end

function Policy:forward(x)
  local scores = self.affine2(F.relu(self.dropout(self.affine1(x))))
  return F.softmax(scores, {dim = 1})
end

torch.manual_seed(args.seed)
local policy = Policy()
local optimizer = torch.optim.Adam(policy:parameters(), {lr = args.lr})
local env = setmetatable({}, CartPole)

-- Plays an episode. Returns the log probabilities of its actions, the rewards, and the actions as text.
local function play()
  local log_probs, rewards, actions = {}, {}, {}
  local state, done = env:reset(), false
  while not done and #rewards < args.steps do
    local action_of = Categorical(policy(torch.tensor(state):unsqueeze(0)))
    local action = action_of:sample()
    log_probs[#log_probs + 1] = action_of:log_prob(action)
    actions[#actions + 1] = action:item() == 1 and 'R' or 'L'
    state, done = env:step(action:item())
    rewards[#rewards + 1] = 1
  end
  return log_probs, rewards, table.concat(actions)
end

-- Returns the normalized discounted sums of the rewards after each step.
local function returns_of(rewards)
  local returns, sum = {}, 0
  for i = #rewards, 1, -1 do
    sum = rewards[i] + args.gamma * sum
    returns[i] = sum
  end
  returns = torch.tensor(returns)
  return (returns - returns:mean()) / (returns:std() + torch.finfo(torch.float32).eps)
end

local running = 10
for episode = 1, args.episodes do
  local log_probs, rewards, actions = play()
  local returns = returns_of(rewards)
  local loss = (-torch.cat(log_probs) * returns):sum()
  optimizer:zero_grad()
  loss:backward()
  optimizer:step()
  running = 0.05 * #rewards + 0.95 * running
  print(('episode %d reward %d average %.4f loss %.5f %s'):format(episode, #rewards, running, loss:item(), actions))
end

local probs = policy:eval()(torch.tensor{{0, 0, 0.1, 0}, {0, 0, -0.1, 0}})
local action_of = Categorical(probs)
local entropy = action_of:entropy()
print(('right %.5f %.5f entropy %.5f %.5f'):format(probs[0][1]:item(), probs[1][1]:item(), entropy[0]:item(),
  entropy[1]:item()))
