"""The Python original of word_language_model.lua."""

import argparse
import math
import os

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
for key, value in {
    "model": "LSTM",
    "emsize": 24,
    "nhid": 24,
    "nlayers": 2,
    "lr": 20.0,
    "clip": 0.25,
    "epochs": 3,
    "batch_size": 10,
    "bptt": 12,
    "dropout": 0.2,
    "seed": 1111,
    "log_interval": 5,
    "save": "model.pt",
    "words": 20,
    "temperature": 1.0,
}.items():
    parser.add_argument(f"--{key}", type=type(value), default=value)
parser.add_argument("--untied", dest="tied", action="store_false")
args = parser.parse_args()


class Dictionary:
    word2idx, idx2word = {}, []

    @classmethod
    def add_word(cls, word):
        if word not in cls.word2idx:
            cls.idx2word.append(word)
            cls.word2idx[word] = len(cls.idx2word) - 1
        return cls.word2idx[word]


def tokenize(count):
    ids = []
    for a, b, c, d in torch.randint(5, (count, 4)).tolist():
        sentence = f"the name{a} verb{(a + b % 2) % 5} a name{(b + c % 2) % 5} in place{d} <eos>"
        ids += [Dictionary.add_word(word) for word in sentence.split()]
    return torch.tensor(ids)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


class RNNModel(nn.Module):
    def __init__(self, rnn_type, ntoken, ninp, nhid, nlayers, dropout, tie_weights):
        super().__init__()
        self.ntoken, self.rnn_type, self.nhid, self.nlayers = ntoken, rnn_type, nhid, nlayers
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        if rnn_type in ["LSTM", "GRU"]:
            self.rnn = getattr(nn, rnn_type)(ninp, nhid, nlayers, dropout=dropout)
        else:
            nonlinearity = {"RNN_TANH": "tanh", "RNN_RELU": "relu"}[rnn_type]
            self.rnn = nn.RNN(ninp, nhid, nlayers, nonlinearity=nonlinearity, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            assert nhid == ninp
            self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.ntoken)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        def zeros():
            return torch.zeros(self.nlayers, bsz, self.nhid)

        return (zeros(), zeros()) if self.rnn_type == "LSTM" else zeros()


def repackage_hidden(h):
    return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage_hidden(v) for v in h)


torch.manual_seed(args.seed)
train_data = batchify(tokenize(150), args.batch_size)
val_data, test_data = batchify(tokenize(40), 5), batchify(tokenize(40), 5)
ntokens = len(Dictionary.idx2word)
model = RNNModel(args.model, ntokens, args.emsize, args.nhid, args.nlayers, args.dropout, args.tied)
criterion = nn.NLLLoss()


def get_batch(source, i):
    seq_len = min(args.bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].reshape(-1)


@torch.no_grad()
def evaluate(source):
    model.eval()
    total, hidden = 0.0, model.init_hidden(5)
    for i in range(0, len(source) - 1, args.bptt):
        data, targets = get_batch(source, i)
        output, hidden = model(data, hidden)
        hidden = repackage_hidden(hidden)
        total += len(data) * criterion(output, targets).item()
    return total / (len(source) - 1)


lr, best_val_loss = args.lr, None


def train(epoch):
    model.train()
    total, hidden = 0.0, model.init_hidden(args.batch_size)
    for batch, i in enumerate(range(0, len(train_data) - 1, args.bptt)):
        data, targets = get_batch(train_data, i)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        with torch.no_grad():
            for p in model.parameters():
                p.add_(p.grad, alpha=-lr)
        total += loss.item()
        if batch % args.log_interval == 0 and batch > 0:
            mean = total / args.log_interval
            print(f"| epoch {epoch} | batch {batch} | lr {lr:.2f} | loss {mean:.5f} | ppl {math.exp(mean):.4f}")
            total = 0.0


for epoch in range(1, args.epochs + 1):
    train(epoch)
    val_loss = evaluate(val_data)
    print(f"| end of epoch {epoch} | valid loss {val_loss:.5f} | valid ppl {math.exp(val_loss):.4f}")
    if not best_val_loss or val_loss < best_val_loss:
        torch.save(model.state_dict(), args.save)
        best_val_loss = val_loss
    else:
        lr /= 4.0

model.load_state_dict(torch.load(args.save))
os.remove(args.save)
test_loss = evaluate(test_data)
print(f"| end of training | test loss {test_loss:.5f} | test ppl {math.exp(test_loss):.4f}")

model.eval()
hidden, input, written = model.init_hidden(1), torch.randint(ntokens, (1, 1)), []
with torch.no_grad():
    for _ in range(args.words):
        output, hidden = model(input, hidden)
        weights = output.squeeze().div(args.temperature).exp()
        input.fill_(torch.multinomial(weights, 1)[0])
        written.append(Dictionary.idx2word[input.item()])
print(" ".join(written))
