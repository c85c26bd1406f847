"""Linear rankers: R-LTR, PAMM, SGDMM, ListMLE, StructSVM and SVM-DIV. Numpy only."""
