"""The experiments: `pairs`, the lines between networks that were finetuned on different splits; `causes`, why CTL is
missed; `amounts`, how much pretraining it takes; `steps`, what one small step does. `line` holds how one line between
two ResNets is measured."""
from lessons.resnet.experiment import amounts, causes, line, pairs, steps
