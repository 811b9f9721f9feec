// Package step finds the number of the current step in what a program prints or
// writes to a channel, without a change to the program.
//
// Patterns were taken from the output of torchtune, tqdm, mmdetection, detectron2,
// Lightning, Keras, TensorFlow's own training loops and Affon. Numbers are taken
// from the text, since many programs print each k-th step only; a number that
// falls (a new epoch, a new phase) goes on from where it was.
package step
